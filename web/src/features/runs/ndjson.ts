/** Reads JSON lines from a response as they come, a batch at a time, so that a long log does not freeze the page. */

const BATCH = 1_000;

/** Yields the values of whole lines. Raises SyntaxError for a line that is no JSON. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown[]> {
  const reader = body.pipeThrough(decoder()).getReader();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const lines = (rest + read.value).split("\n");
      rest = lines.pop() ?? "";
      for (let at = 0; at < lines.length; at += BATCH) {
        if (at > 0) await breath();
        const values = parse(lines.slice(at, at + BATCH));
        if (values.length > 0) yield values;
      }
    }
    if (rest.trim()) yield parse([rest]);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Lets the page do what else it has to. */
const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

function parse(lines: string[]): unknown[] {
  return lines.flatMap((line) => (line.trim() ? [JSON.parse(line) as unknown] : []));
}

function decoder(): ReadableWritablePair<string, Uint8Array> {
  return new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>;
}
