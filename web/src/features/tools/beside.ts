/** The column beside a tool, which stays in sight; below it on narrow screens. */
export const BESIDE =
  "-m-1 flex min-w-0 flex-col gap-5 self-start p-1 lg:sticky lg:top-5 lg:max-h-[calc(100dvh-2.5rem)] lg:overflow-y-auto";
