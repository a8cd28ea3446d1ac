/** Replaces only the version that was read: a newer version is not overwritten unseen. */
import { problemOf } from "./problem";

/** The header that names a version, by its `updated_at`; none for what has no version. */
export function ifMatch(version: number | null | undefined): { "If-Match"?: string } {
  return version === null || version === undefined ? {} : { "If-Match": `"${version}"` };
}

/** Whether a save was refused because another user saved first. */
export function isOvertaken(thrown: unknown): boolean {
  return problemOf(thrown).code === "changed_elsewhere";
}
