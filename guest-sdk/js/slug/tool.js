// A tool pack in JavaScript: makes names for addresses and files out of titles.
//
// The world is `chitin:tool/tool`, built with componentize-qjs. There is no fetch, no timer and no process in here: what a
// tool can do beside computing, it imports.

const specs = [
  {
    name: "slug",
    title: "Make a slug",
    summary: "Turns a title into lower-case words joined by hyphens, without accents.",
    inputSchema: JSON.stringify({
      type: "object",
      properties: { title: { type: "string", minLength: 1, maxLength: 1000, description: "The title." } },
      required: ["title"],
      additionalProperties: false,
    }),
    outputSchema: undefined,
    effects: { idempotent: true },
    extras: [],
  },
];

function slug(title) {
  const plain = title.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  return plain.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
}

export const guest = {
  describe() {
    return specs;
  },
  invoke(req) {
    if (req.tool !== "slug") {
      // What is thrown as `payload` becomes the failure; any other error ends the instance.
      const error = new Error("unknown tool");
      error.payload = { kind: "not-found", code: "unknown-tool", message: `there is no tool ${req.tool}` };
      throw error;
    }
    return [{ tag: "text", val: slug(JSON.parse(req.args).title) }];
  },
};
