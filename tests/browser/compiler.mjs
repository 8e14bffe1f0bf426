// The compiler behind WebGPU: a module's messages, and a pipeline for each of its entry points, which runs the compiler's backend.

/** Features that kernels may enable, by the directive that enables them. */
const FEATURES = { f16: "shader-f16", subgroups: "subgroups" };

/** A device with the features that kernels may enable, and what it is. */
export async function open(gpu) {
  const adapter = await gpu?.requestAdapter();
  if (!adapter) throw new Error("there is no WebGPU, or no adapter");
  const offered = Object.values(FEATURES).filter((feature) => adapter.features.has(feature));
  const device = await adapter.requestDevice({ requiredFeatures: offered });
  const { vendor, architecture, description } = adapter.info;
  const about = `${[vendor, architecture, description].filter(Boolean).join(" ")}; ${offered.join(", ") || "no features"}`;
  return { device, about };
}

/** What becomes of a text: features that are missing, or messages, entry points and pipelines. */
export async function compile(device, code) {
  const enabled = [...code.matchAll(/^enable\s+(\w+)\s*;/gm)].map((found) => found[1]);
  const missing = enabled.filter((name) => !device.features.has(FEATURES[name]));
  const entries = [...code.matchAll(/@compute[^]*?\bfn\s+(\w+)/g)].map((found) => found[1]);
  const result = { missing, entries: entries.length, pipelines: 0, messages: [] };
  if (missing.length > 0) return result;
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code });
  const info = await module.getCompilationInfo();
  const refused = await device.popErrorScope();
  const say = (type, line, text) => result.messages.push({ type, line, text });
  for (const m of info.messages) say(m.type, m.lineNum, m.message);
  const wrong = info.messages.some((m) => m.type === "error");
  if (refused && !wrong) say("error", 0, refused.message);
  if (refused || wrong) return result;
  for (const entryPoint of entries) {
    try {
      await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } });
      result.pipelines += 1;
    } catch (error) {
      say("error", 0, `pipeline of ${entryPoint}: ${error.message}`);
    }
  }
  return result;
}
