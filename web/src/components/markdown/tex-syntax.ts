/** Formulas as models write them: \( \), \[ \], and $ $ where it cannot be money. `syntax` knows $$. */
import type { Code, Construct, Effects, State, TokenizeContext } from "micromark-util-types";
import type {} from "remark-parse";
import type { Processor } from "unified";

declare module "micromark-util-types" {
  interface TokenTypeMap {
    mathText: "mathText";
    mathTextSequence: "mathTextSequence";
    mathTextData: "mathTextData";
  }
}

const DOLLAR = 36;
const BACKSLASH = 92;
const CLOSING = new Map<Code, number>([
  [40, 41],
  [91, 93],
]);
const OPENS_BRACKET = 91;

/** A `remark` plugin, for before `mathSyntax`, which makes nodes of what this finds. */
export function texSyntax(this: Processor): void {
  const data = this.data();
  data.micromarkExtensions ??= [];
  data.micromarkExtensions.push({ text: { [DOLLAR]: dollars, [BACKSLASH]: brackets } });
}

/** The brackets that nothing closes in the rest of a paragraph, so that each further one does not look for it again. */
const MISSING = new WeakMap<TokenizeContext, Set<number>>();

const isBlank = (code: Code): boolean => code === null || code < 0 || code === 32;
const isLineEnd = (code: Code): boolean => code !== null && code < -2;
const isWord = (code: Code): boolean =>
  code !== null && code > 0 && /[\p{L}\p{N}_]/u.test(String.fromCodePoint(code));

/** `$x$`: tight on both sides, on one line, not in a word, and not a sum of money up to the next one. */
const dollars: Construct = {
  name: "texDollars",
  previous: (code) => code !== DOLLAR && !isWord(code),
  tokenize(effects, ok, nok) {
    let written = "";
    let before: Code = null;
    const start: State = (code) => {
      effects.enter("mathText");
      mark(effects, code);
      return first;
    };
    const first: State = (code) => {
      if (isBlank(code) || code === DOLLAR) return nok(code);
      effects.enter("mathTextData");
      return data(code);
    };
    const data: State = (code) => {
      if (code === null || isLineEnd(code)) return nok(code);
      if (code === DOLLAR && before !== BACKSLASH) {
        if (isBlank(before) || !looksLikeMath(written)) return nok(code);
        effects.exit("mathTextData");
        mark(effects, code);
        effects.exit("mathText");
        return last;
      }
      written += code > 0 ? String.fromCodePoint(code) : " ";
      before = code;
      effects.consume(code);
      return data;
    };
    const last: State = (code) => (isWord(code) || code === DOLLAR || code === 123 ? nok(code) : ok(code));
    return start;
  },
};

/** `\(x\)`, and `\[x\]` where it is no escaped bracket of prose: at the beginning of a line, or with room inside. */
const brackets: Construct = {
  name: "texBrackets",
  tokenize(this: TokenizeContext, effects, ok, nok) {
    const missing = MISSING.get(this) ?? new Set<number>();
    MISSING.set(this, missing);
    const startsLine = this.previous === null || isLineEnd(this.previous);
    let closing: number | undefined;
    const start: State = (code) => {
      effects.enter("mathText");
      effects.enter("mathTextSequence");
      effects.consume(code);
      return bracket;
    };
    const bracket: State = (code) => {
      closing = CLOSING.get(code);
      if (closing === undefined || missing.has(closing)) return nok(code);
      effects.consume(code);
      effects.exit("mathTextSequence");
      return code === OPENS_BRACKET && !startsLine ? roomInside : between;
    };
    const roomInside: State = (code) => (isBlank(code) ? between(code) : nok(code));
    const between: State = (code) => {
      if (code === null) {
        if (closing !== undefined) missing.add(closing);
        return nok(code);
      }
      if (isLineEnd(code)) {
        effects.enter("lineEnding");
        effects.consume(code);
        effects.exit("lineEnding");
        return between;
      }
      if (code === BACKSLASH) return effects.attempt({ tokenize: close, partial: true }, ok, inside)(code);
      return inside(code);
    };
    const inside: State = (code) => {
      effects.enter("mathTextData");
      effects.consume(code);
      return code === BACKSLASH ? escaped : data;
    };
    const escaped: State = (code) => {
      if (code === null || isLineEnd(code)) return data(code);
      effects.consume(code);
      return data;
    };
    const data: State = (code) => {
      if (code === null || isLineEnd(code) || code === BACKSLASH) {
        effects.exit("mathTextData");
        return between(code);
      }
      effects.consume(code);
      return data;
    };
    function close(this: TokenizeContext, closer: Effects, closed: State, open: State): State {
      const begin: State = (code) => {
        closer.enter("mathTextSequence");
        closer.consume(code);
        return end;
      };
      const end: State = (code) => {
        if (code !== closing) return open(code);
        closer.consume(code);
        closer.exit("mathTextSequence");
        closer.exit("mathText");
        return closed;
      };
      return begin;
    }
    return start;
  },
};

function mark(effects: Effects, code: Code): void {
  effects.enter("mathTextSequence");
  effects.consume(code);
  effects.exit("mathTextSequence");
}

/** "20 now or 30" is prose; "x + 1", "n" and "\text{for all } n" are not. */
function looksLikeMath(text: string): boolean {
  return /[\\^_={}]/.test(text) || !/(?:^|\s)\p{L}{2,}/u.test(text);
}
