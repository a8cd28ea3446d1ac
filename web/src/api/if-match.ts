/** Replacing only the version that one has seen: whoever saved another meanwhile does not lose it unseen. */
import { problemOf } from "./problem";

/** The header that names a version, by its `updated_at`; none for what has no version. */
export function ifMatch(version: number | null | undefined): { "If-Match"?: string } {
  return version === null || version === undefined ? {} : { "If-Match": `"${version}"` };
}

/** Whether a save was refused because somebody else saved meanwhile. */
export function isOvertaken(thrown: unknown): boolean {
  return problemOf(thrown).code === "changed_elsewhere";
}
