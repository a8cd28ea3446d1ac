import { expect, test } from "vitest";
import { marksOf, placeIn, shift, zoom } from "./time-axis";

test("marks are round and inside the window", () => {
  expect(marksOf({ fromMs: 0, toMs: 1000 })).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(marksOf({ fromMs: 133, toMs: 190 })).toEqual([140, 150, 160, 170, 180, 190]);
  expect(marksOf({ fromMs: 0, toMs: 350_000 }, 5)).toEqual([0, 120_000, 240_000]);
  for (const length of [1, 7, 99, 1234, 86_400_000, 9e9]) {
    const marks = marksOf({ fromMs: 0, toMs: length });
    expect(marks.length).toBeGreaterThanOrEqual(1);
    expect(marks.length).toBeLessThanOrEqual(8);
  }
});

test("a run without any length has one mark, and its bars are on it", () => {
  expect(marksOf({ fromMs: 0, toMs: 0 })).toEqual([0]);
  expect(placeIn({ fromMs: 0, toMs: 0 }, 0, 0)).toEqual({ left: 0, width: 0 });
});

test("a bar is cut at the edges of the window, and nowhere outside it", () => {
  const window = { fromMs: 100, toMs: 200 };
  expect(placeIn(window, 125, 175)).toEqual({ left: 25, width: 50 });
  expect(placeIn(window, 0, 500)).toEqual({ left: 0, width: 100 });
  expect(placeIn(window, 0, 99)).toBeNull();
});

test("zooming and going along never leave the run", () => {
  const whole = { fromMs: 0, toMs: 1000 };
  expect(zoom(whole, 0.5, 1000)).toEqual({ fromMs: 250, toMs: 750 });
  expect(zoom(whole, 0.5, 1000, 0)).toEqual({ fromMs: 0, toMs: 500 });
  expect(zoom(whole, 2, 1000)).toEqual(whole);
  expect(shift({ fromMs: 0, toMs: 500 }, -1, 1000)).toEqual({ fromMs: 0, toMs: 500 });
  expect(shift({ fromMs: 0, toMs: 500 }, 1, 1000)).toEqual({ fromMs: 250, toMs: 750 });
});
