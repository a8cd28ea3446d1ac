/** The REST surface, as `make types` reads it from the server's own description. */
export type * from "./api.gen";
