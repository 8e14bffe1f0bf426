-- Opens a program with a mistake in Neovim, with `girih lsp` as its language server: the mistake is shown, a definition is jumped to,
-- and the mistake disappears when it is corrected. What was seen is written to the file that OUTPUT names.
--
-- The names of functions are those that Neovim has had since 0.7.

local seen = io.open(vim.env.OUTPUT, 'w')
local function note(text) seen:write(text .. '\n') end

-- Something that never happens ends the test; how long it takes does not matter.
local FOREVER = 10 * 60 * 1000
local function wait_for(what, condition)
  if not vim.wait(FOREVER, condition, 20) then note('never: ' .. what) end
end

local function run()
  local client = vim.lsp.start_client({ name = 'girih', cmd = { vim.env.GIRIH, 'lsp' }, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, client)

  wait_for('a diagnostic', function() return #vim.diagnostic.get(0) > 0 end)
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    note(string.format('%s at %d:%d', diagnostic.code, diagnostic.lnum + 1, diagnostic.col + 1))
  end

  vim.fn.cursor(5, 11)
  vim.lsp.buf.definition()
  wait_for('a jump', function() return vim.fn.line('.') ~= 5 end)
  note(string.format('definition at %d:%d', vim.fn.line('.'), vim.fn.col('.')))

  vim.api.nvim_buf_set_lines(0, 4, 5, true, { '  return double(2)' })
  wait_for('the end of the diagnostic', function() return #vim.diagnostic.get(0) == 0 end)
  note('nothing is wrong')

  vim.lsp.stop_client(client)
end

local worked, why = pcall(run)
if not worked then note('failed: ' .. tostring(why)) end
seen:close()
vim.cmd('qall!')
