// A folder of WGSL files, as `girih conform --emit FOLDER` writes it, and what compilers say about them.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export class Sheets {
  results = [];

  /** The folder that the command line names. */
  static async open() {
    const folder = process.argv[2];
    if (!folder) {
      console.error(`usage: node ${process.argv[1]} FOLDER`);
      process.exit(2);
    }
    const sheets = new Sheets();
    sheets.folder = folder;
    sheets.files = (await readdir(folder)).filter((name) => name.endsWith(".wgsl")).sort();
    return sheets;
  }

  read(file) {
    return readFile(join(this.folder, file), "utf8");
  }

  /** Shows what is wrong with a file, each message once. */
  report(result) {
    this.results.push(result);
    const lines = result.messages.map((m) => `${result.file}:${m.line}: ${m.type}: ${m.text}`);
    for (const line of new Set(lines)) console.log(line);
  }

  /** Ends the program: badly if something was refused, was not reached, or if there was nothing. */
  end(error) {
    const sum = (of) => this.results.reduce((total, result) => total + of(result), 0);
    const errors = (result) => result.messages.filter((m) => m.type === "error").length;
    const lacking = this.results.filter((result) => result.missing.length > 0);
    const names = [...new Set(lacking.flatMap((result) => result.missing))].join(", ");
    const wanted = sum((r) => (r.missing.length > 0 ? 0 : r.entries));
    const [refused, pipelines] = [sum((r) => errors(r) > 0), sum((r) => r.pipelines)];
    console.log(
      `${this.results.length} of ${this.files.length} files, ${pipelines} pipelines of ${wanted} entry points; ${refused} files with errors, ` +
        `${sum((r) => r.messages.length - errors(r))} warnings; ${lacking.length} files need what the adapter lacks${names && `: ${names}`}`,
    );
    if (error) console.error(error);
    const complete = this.results.length === this.files.length && pipelines === wanted && pipelines > 0;
    process.exit(error || refused > 0 || !complete ? 1 : 0);
  }
}
