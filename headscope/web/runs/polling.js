// Tells Python for every drawing once that it is time, and again where no drawing follows: on a busy server a look may be
// lost. A clock that is wound again, or is taken off the page, is stopped.

const AGAIN = 10; // seconds at least, for a slow drawing is none that was lost
const clocks = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const clock = clocks.get(parentElement) ?? {};
  clocks.set(parentElement, clock);
  const ring = () => {
    clock.timer = setTimeout(ring, 1000 * Math.max(AGAIN, 5 * data.seconds));
    setTriggerValue("due", true);
  };
  if (clock.turn !== data.turn) {
    clearTimeout(clock.timer);
    clock.turn = data.turn;
    clock.timer = setTimeout(ring, 1000 * data.seconds);
  }
  return () => {
    clearTimeout(clock.timer);
    clock.turn = null;
  };
}
