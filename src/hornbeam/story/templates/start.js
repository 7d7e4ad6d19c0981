/* The switch between light and dark, and the beginning of every chapter. */
const themeButton = document.getElementById("theme");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
data.chapters.forEach((chapter) => CHAPTERS[chapter.kind](document.getElementById(chapter.kind), chapter));
