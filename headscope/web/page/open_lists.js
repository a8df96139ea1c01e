// Keeps the list of a box open while the page moves below it: Streamlit shuts it at any scrolling, also where the page
// scrolled by itself as what is on it became shorter, or had not come to rest when the box was clicked. It takes a page
// that was resized for one that a keyboard on glass pushes up, and leaves the list open; the list goes with its box.

const OPEN = ':is([data-testid="stSelectbox"], [data-testid="stMultiSelect"]) [aria-expanded="true"]';
const MARK = "listsStay";

export default function () {
  if (MARK in document.documentElement.dataset) return;
  document.documentElement.dataset[MARK] = "";
  window.addEventListener("scroll", keep, true);
}

function keep() {
  if (document.querySelector(OPEN)) window.visualViewport.dispatchEvent(new Event("resize"));
}
