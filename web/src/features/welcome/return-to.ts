/** Where to go after signing in: always a path of this server. */
const HOME = "/";
/** The server takes no longer one. */
const MAX_CHARS = 2000;

export function safeReturnTo(wanted: string | undefined, origin: string = location.origin): string {
  if (!wanted || !/^\/(?![/\\])/.test(wanted) || !URL.canParse(wanted, origin)) return HOME;
  const url = new URL(wanted, origin);
  if (url.origin !== origin || url.pathname === "/sign-in" || url.pathname.startsWith("/sign-in/"))
    return HOME;
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Dots are taken out of a path when it is read, and may leave two slashes at its beginning.
  return path.startsWith("//") || path.includes("\\") || path.length > MAX_CHARS ? HOME : path;
}
