// What a user of the package writes: `tsc` checks it against the package's types.

import { compile, device, GirihError, Stopped, type Finding, type Ran } from "girih";
import "girih/element";

export async function sum(n: number): Promise<string> {
  const program = await compile("def main(n: u24) -> u24:\n  return n * (n + 1) / 2\n", { device: "worker" });
  try {
    const ran: Ran = await program.run([n, "+3"], { input: "", written: (text, stream) => console.log(text, stream === 1) });
    return ran.result;
  } catch (error) {
    if (error instanceof Stopped) return "stopped";
    if (error instanceof GirihError) return error.findings.map((finding: Finding) => finding.message).join();
    throw error;
  } finally {
    program.close();
  }
}

export async function draw(text: string, canvas: HTMLCanvasElement): Promise<number> {
  const { shader } = await compile(text, { language: "bend", device: (await device()).is_there ? "webgpu" : "worker" });
  // @ts-expect-error A program need not be a shader.
  shader.frame(canvas, 0);
  await shader?.frame(canvas, 1.5);
  // @ts-expect-error The time is a number.
  await shader?.frame(canvas, "1.5");
  document.querySelector("girih-shader")?.setAttribute("paused", "");
  return shader?.width ?? 0;
}
