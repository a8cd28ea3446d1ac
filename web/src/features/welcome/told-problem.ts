/** What the server has to tell whoever comes: it put a problem into the document, such as a link that is over. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Problem } from "@/lib/problem";

const PLACE = 'meta[name="agio-problem"]';

export function readToldProblem(page: Document = document): Problem | undefined {
  const told = page.querySelector<HTMLMetaElement>(PLACE)?.content;
  if (!told) return undefined;
  try {
    const { code, message }: { code?: unknown; message?: unknown } = JSON.parse(told);
    return typeof code === "string" && typeof message === "string" ? new Problem(code, message) : undefined;
  } catch {
    return undefined;
  }
}

/** The problem, told once; the address it came with is forgotten, so that a reload does not try again. */
export function useToldProblem(): Problem | undefined {
  const [problem] = useState(() => readToldProblem());
  const navigate = useNavigate();
  useEffect(() => {
    if (!problem) return;
    document.querySelector(PLACE)?.remove();
    void navigate({ to: "/sign-in", search: {}, replace: true });
  }, [problem, navigate]);
  return problem;
}
