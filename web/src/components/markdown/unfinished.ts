/** Completes the end of a text that is still being written, so that half a link or half a table does not flash as signs. */

/** Returns the last block as it will most likely look when it is done. */
export function finishBlock(block: string): string {
  if (isTableHead(block)) return "";
  const line = block.slice(block.lastIndexOf("\n") + 1);
  const before = block.slice(0, block.length - line.length);
  return before + finishLine(line);
}

function finishLine(line: string): string {
  const code = line.split("`").length % 2 === 0;
  if (code) return `${line}\``;
  let done = line.replace(/!?\[([^[\]]*)\]\([^()\s]*$/, "$1").replace(/!?\[([^[\]]*)$/, "$1");
  // A marker at the very end opens nothing yet.
  done = done.replace(/(^|[\s(])(?:\*{1,3}|~~)$/, "$1");
  if (count(done, "**") % 2 === 1) done = `${done.replace(/\*$/, "").trimEnd()}**`;
  if (count(done, "~~") % 2 === 1) done = `${done.trimEnd()}~~`;
  return done;
}

/** Whether all there is yet is the head of a table, perhaps with half of the line below it. */
function isTableHead(block: string): boolean {
  const [head = "", rule = "", ...rows] = block.trim().split("\n");
  return head.startsWith("|") && rows.length === 0 && /^[|:\- ]*$/.test(rule) && !isRule(head, rule);
}

function isRule(head: string, rule: string): boolean {
  return /^\|(?: *:?-+:? *\|)+ *$/.test(rule) && count(rule, "|") >= count(head.replaceAll("\\|", ""), "|");
}

function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}
