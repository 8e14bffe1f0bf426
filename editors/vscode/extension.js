// Starts `girih lsp` for Bend programs, kernels and nets, and stops it when the editor closes.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function start() {
  const command = vscode.workspace.getConfiguration('girih').get('path');
  const languages = ['bend', 'gir', 'hvm'];
  client = new LanguageClient(
    'girih',
    'Girih',
    { command, args: ['lsp'] },
    {
      documentSelector: languages.flatMap((language) => ['file', 'untitled'].map((scheme) => ({ scheme, language }))),
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.bend') },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const text = `\`${command} lsp\` cannot be started: ${error.message}. Install Girih, or set \`girih.path\`.`;
    vscode.window.showErrorMessage(text);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running?.needsStop()) await running.stop();
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(vscode.commands.registerCommand('girih.restart', restart));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('girih.path')) restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
