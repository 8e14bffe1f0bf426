// The editor: CodeMirror with the languages' colours, and what the compiler says at its place.
//
// It stands in a shadow tree, whose styles are made by script: so the page needs no style that its policy would have to allow.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { colours, languages } from "./languages.mjs";

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--raised)", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)", padding: ".6rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "light-dark(#00000009, #ffffff0b)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "light-dark(#99d5cf88, #2dd4bf44)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-diagnostic": { padding: ".4rem .7rem", maxWidth: "34rem", whiteSpace: "pre-wrap", fontFamily: "system-ui, sans-serif" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--error) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy light-dark(#a16207, #eab308) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecoration: "underline dotted var(--soft) 1.5px", textUnderlineOffset: "3px" },
  ".cm-panels": { backgroundColor: "var(--back)", color: "var(--ink)" },
});

export class Editor {
  #view;
  #language = new Compartment();
  #isOpening = false;

  /** `changed` is called when somebody has changed the text, `run` for Ctrl+Enter. */
  constructor(place, { changed, run }) {
    const root = place.attachShadow({ mode: "open" });
    const state = EditorState.create({
      extensions: [
        lineNumbers(), lintGutter(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), indentOnInput(),
        highlightSelectionMatches(), EditorView.lineWrapping, indentUnit.of("  "), colours, theme, this.#language.of([]),
        EditorView.contentAttributes.of({ "aria-label": "Program text; Escape, then Tab leaves it" }),
        keymap.of([
          { key: "Mod-Enter", run: () => (run(), true) },
          ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab,
        ]),
        EditorView.updateListener.of((update) => update.docChanged && !this.#isOpening && changed()),
      ],
    });
    this.#view = new EditorView({ state, root, parent: root });
    this.#view.dom.style.height = "100%";
  }

  get text() {
    return this.#view.state.doc.toString();
  }

  /** Another text, in another language perhaps. */
  open({ language, text }) {
    this.#isOpening = true;
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert: text },
      effects: this.#language.reconfigure(languages[language]),
      selection: { anchor: 0 },
      scrollIntoView: true,
    });
    this.#isOpening = false;
  }

  /** Shows what the compiler says of the text. */
  say(findings) {
    const length = this.#view.state.doc.length;
    const shown = findings.flatMap((finding) => {
      const [main, ...others] = finding.labels.filter((label) => label.place);
      const place = main?.place ?? { from: 0, to: 0 };
      const lines = [`${finding.code}: ${finding.message}`, main?.text, finding.hint && `hint: ${finding.hint}`];
      const said = { ...place, severity: finding.severity, message: lines.filter(Boolean).join("\n") };
      return [said, ...others.map((label) => ({ ...label.place, severity: "info", message: label.text || finding.message }))];
    });
    const inside = shown.filter(({ from, to }) => from <= to && to <= length);
    this.#view.dispatch(setDiagnostics(this.#view.state, inside));
  }

  focus() {
    this.#view.focus();
  }
}
