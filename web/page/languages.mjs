// Colours for the languages of the editor: what the words are, not what they mean. What is wrong is said by the compiler.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const words = (text) => new Set(text.split(" "));

/** A tokenizer from what differs: comments, keywords, the words that are types, and what marks a text of several lines. */
function language({ comment, block, keywords, types, name, long }) {
  return StreamLanguage.define({
    startState: () => ({ isInBlock: false, longEnd: null }),
    languageData: { commentTokens: block ? { line: comment, block: { open: block[0], close: block[1] } } : { line: comment } },
    token(stream, state) {
      if (state.isInBlock || (block && stream.match(block[0]))) {
        state.isInBlock = !stream.skipTo(block[1]);
        if (state.isInBlock) stream.skipToEnd();
        else stream.match(block[1]);
        return "comment";
      }
      const opened = state.longEnd ?? (long && stream.match(long)?.[0]);
      if (opened) {
        state.longEnd = stream.skipTo(opened) ? null : opened;
        if (state.longEnd) stream.skipToEnd();
        else stream.match(opened);
        return "string";
      }
      if (stream.eatSpace()) return null;
      if (stream.match(comment)) {
        stream.skipToEnd();
        return "comment";
      }
      if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)'/)) return "string";
      if (stream.match(/^[-+]?(?:0x[\da-fA-F_]+|0b[01_]+|\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:[uif]\d+)?/)) return "number";
      const word = stream.match(name)?.[0];
      if (!word) {
        stream.next();
        return "operator";
      }
      if (keywords.has(word)) return "keyword";
      if (types.has(word) || /^[A-Z]/.test(word)) return "typeName";
      if (/^[@%$]/.test(word)) return "variableName";
      return stream.match(/^\s*\(/, false) ? "function" : null;
    },
    tokenTable: { function: tags.function(tags.variableName) },
  });
}

const bend = language({
  comment: "#",
  block: ["#{", "#}"],
  keywords: words(
    "def return if elif else match case switch fold bend when fork with open use let type object from import as hvm unchecked checked lambda and or in for data ask identity",
  ),
  types: words("u24 i24 f24 u32 i32 f32 Any List String Map IO"),
  name: /^[A-Za-z_~λ][\w./-]*/,
});

const gir = language({
  comment: ";",
  keywords: words(
    "kernel fn launch grid workgroup if else loop break continue yield return switch case default shared private barrier readonly noalias subgroup tail fork join layout global",
  ),
  types: words("bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 buffer term"),
  name: /^[@%]?[A-Za-z_][\w.]*/,
});

const hvm = language({ comment: "//", keywords: words("main"), types: words(""), name: /^@?[A-Za-z_][\w./-]*/ });

const py = language({
  comment: "#",
  keywords: words(
    "and as assert break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with",
  ),
  types: words("tl triton int float bool str constexpr"),
  long: /^(?:"""|''')/,
  name: /^@?[A-Za-z_]\w*/,
});

export const languages = { bend, gir, hvm, py };

/** Colours that can be read on light and on dark. */
export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "light-dark(#5c6770, #8b96a0)", fontStyle: "italic" },
    { tag: tags.keyword, color: "light-dark(#9a3a86, #e29ad3)" },
    { tag: tags.typeName, color: "light-dark(#0f6b8f, #7cc7ea)" },
    { tag: tags.string, color: "light-dark(#8a5a00, #e5c07b)" },
    { tag: tags.number, color: "light-dark(#a04000, #f0a878)" },
    { tag: tags.function(tags.variableName), color: "light-dark(#0f766e, #5eead4)" },
    { tag: tags.variableName, color: "light-dark(#3f4a9a, #a9b4ff)" },
  ]),
);
