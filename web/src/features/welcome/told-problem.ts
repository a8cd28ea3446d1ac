/** What the server has to tell whoever comes: it put a problem into the document, such as a link that is over. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { Problem } from "@/lib/problem";

export function readToldProblem(page: Document = document): Problem | undefined {
  const told = page.querySelector<HTMLMetaElement>('meta[name="agio-problem"]')?.content;
  if (!told) return undefined;
  try {
    const { code, message }: { code?: unknown; message?: unknown } = JSON.parse(told);
    return typeof code === "string" && typeof message === "string" ? new Problem(code, message) : undefined;
  } catch {
    return undefined;
  }
}

/** As long as this document is open: signing in, and every way out of the page, loads another. */
const told = readToldProblem();

/** The problem; the address it came with is forgotten, so that a reload does not try again. */
export function useToldProblem(): Problem | undefined {
  const navigate = useNavigate();
  useEffect(() => {
    if (told) void navigate({ to: "/sign-in", search: {}, replace: true });
  }, [navigate]);
  return told;
}
