/** The browser's own, in the place of a package that makes one for old browsers. */
// biome-ignore lint/style/noDefaultExport: as the package has it
export default function clone(value: unknown): unknown {
  return structuredClone(value);
}
