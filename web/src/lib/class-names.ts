/** Joins class names, leaving out what is false. */
export { clsx as cx } from "clsx";
