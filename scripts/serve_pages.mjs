// The browser's part of scripts/test-serve: node serve_pages.mjs ADDRESS FOLDER_FOR_SCREENSHOTS CHROMIUM
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, shots, executablePath] = process.argv.slice(2);
const origin = new URL(address).origin;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const complaints = [];

function check(what, holds) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) complaints.push(what);
}

// A page of this size and scheme whose errors and requests to other machines are complaints.
async function open(path, { width = 1366, height = 768, scheme = "light" } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    hasTouch: width < 600,
    isMobile: width < 600,
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${path}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${path}: ${error}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`${path} asks ${request.url()}`);
  });
  const response = await page.goto(origin + path);
  check(`${path} loads (${scheme}, ${width} wide)`, response.ok());
  return page;
}

async function close(page) {
  await page.context().close();
}

// The address of the first run in the list of runs, which is the one that goes on.
async function firstRun() {
  const page = await open("/");
  const run = await page.locator("main table a").first().getAttribute("href");
  await close(page);
  return run;
}

// The page shows news of the run without loading again.
async function curvesMove(run) {
  const page = await open(run);
  const losses = () => page.locator("section[data-part=training] figure > svg.plot").first().innerHTML();
  await page.locator("section[data-part=training] figure > svg.plot").first().waitFor({ timeout: 60000 });
  await page.evaluate(() => { window.unchanged = true; });
  await page.evaluate(() => window.scrollTo(0, 600));
  const [before, version] = [await losses(), await page.locator("#live").getAttribute("data-version")];
  let moved = false;
  for (let second = 0; second < 240 && !moved; second++) {
    await page.waitForTimeout(1000);
    moved = (await losses()) !== before;
  }
  check("curves move while the run goes on", moved);
  check("the version counts", Number(await page.locator("#live").getAttribute("data-version")) > Number(version));
  check("the page was not loaded again", await page.evaluate(() => window.unchanged === true));
  check("the page stays where it was scrolled to", (await page.evaluate(() => window.scrollY)) > 300);
  await close(page);
}

// On a phone, a tap on a plot shows the values of the nearest point.
async function tapsSayValues(run) {
  const page = await open(run, { width: 390, height: 844 });
  const plot = page.locator("section[data-part=training] figure > svg.plot").first();
  await plot.scrollIntoViewIfNeeded();
  await plot.tap();
  const said = page.locator(".said");
  check(`a tap on a plot says: ${await said.textContent()}`, / at .* steps/.test(await said.textContent()));
  check("what it says is on the screen", await said.isVisible());
  await page.screenshot({ path: join(shots, "report-tapped.png") });
  await page.locator("h1").tap();
  check("a tap elsewhere takes it away", !(await said.isVisible()));
  await close(page);
}

async function clickThrough(run) {
  const page = await open(`${run}/games?kind=selfplay`);
  await page.locator("table.games a").first().click();
  await page.waitForFunction(() => document.getElementById("turn").textContent.startsWith("The start"));
  const stones = () => page.locator("#board circle.black, #board circle.white").count();
  await page.locator("#next").click();
  await page.locator("#next").click();
  check("two turns put stones on the board", (await stones()) >= 1);
  await page.keyboard.press("ArrowRight");
  check("the arrow key goes on", (await page.locator("#slider").inputValue()) === "3");
  await page.keyboard.press("End");
  check("the end says the result", (await page.locator("#turn").textContent()).includes("The end"));
  await page.keyboard.press("Home");
  check("the start is empty", (await stones()) === 0);
  const last = Number(await page.locator("#slider").getAttribute("max"));
  for (let turn = 0; turn < last / 2; turn++) await page.keyboard.press("ArrowRight");
  check("policy targets are shown", (await page.locator("#figures").textContent()).includes("Policy target"));
  await championLooks(page, run);
  const game = new URL(page.url()).pathname;
  const sgf = await page.request.get(`${origin}${game}/record.sgf`);
  check("the game's SGF", (await sgf.text()).startsWith("(;GM[1]"));
  await close(page);
  return game;
}

// The champion's view of the position shown, and of the next one. An untrained champion expects no owners, so this
// waits for another one.
async function championLooks(page, run) {
  let model = "";
  for (let second = 0; second < 240 && !/^g0*[1-9]/.test(model); second++) {
    if (second > 0) await page.waitForTimeout(1000);
    model = (await (await page.request.get(`${origin}/api${run}/champion`)).json()).model || "";
  }
  check(`a trained model is champion: ${model}`, /^g0*[1-9]/.test(model));
  await page.locator("#view-visits").fill("16");
  await page.locator("#view-moves").check();
  await page.locator("#board circle.candidate").first().waitFor({ timeout: 60000 });
  check("the champion's moves take the place of the record's policy",
    (await page.locator("#board circle.policy").count()) === 0);
  const figures = () => page.locator("#view-figures").textContent();
  check("the champion's win rate is shown", (await figures()).includes("Black wins"));
  await page.locator("#show-policy").uncheck();
  await page.locator("#view-moves").uncheck();
  check("its view goes", (await figures()) === "" && (await page.locator("#board circle.candidate").count()) === 0);
  await page.locator("#view-ownership").check();
  const owners = () => page.locator("#board rect.owner").evaluateAll((all) => all.map((one) => one.outerHTML).join());
  await page.locator("#board rect.owner").first().waitFor({ timeout: 60000 });
  const before = await owners();
  await page.locator("#next").click();
  await page.waitForFunction(() => document.getElementById("view-state").hidden, null, { timeout: 60000 });
  check("the next position has owners of its own", (await owners()) !== "" && (await owners()) !== before);
  await page.screenshot({ path: join(shots, "game-champion.png") });
  await page.locator("#view-ownership").uncheck();
  await page.locator("#show-policy").check();
}

// Plays on the first point that is free until there is none, then passes.
async function playToTheEnd(run) {
  const page = await open(`${run}/board`);
  await page.locator("#visits").fill("16");
  await page.locator("#start button").click();
  const words = () => page.locator("#turn").textContent();
  const size = await page.locator("#play").getAttribute("data-size");
  const [width, height] = size.split("x").map(Number);
  let clicks = 0;
  for (let turn = 0; turn < 200; turn++) {
    await page.waitForFunction(
      () => /Your turn|The game is over/.test(document.getElementById("turn").textContent), null, { timeout: 60000 });
    if ((await words()).includes("over")) break;
    const before = await words();
    // After some turns the person passes; a model that passes then ends the game.
    if (turn < 8 && (await clickFreePoint(page, width, height, turn))) clicks += 1;
    else await page.locator("#pass").click();
    await page.waitForFunction(
      (before) => document.getElementById("turn").textContent !== before ||
        !document.getElementById("problem").hidden, before, { timeout: 60000 });
    if (turn === 3) await analysisIsShown(page);
  }
  check(`a game of ${clicks} clicks on the board ends: ${await words()}`, (await words()).includes("The game is over"));
  check("the area is counted", /Area: Black \d+, White \d+/.test(await words()));
  await page.screenshot({ path: join(shots, "board-end.png") });
  await close(page);
}

async function clickFreePoint(page, width, height, turn) {
  const box = await page.locator("#board").boundingBox();
  const [across, down] = [width * 20 + 32, height * 20 + 32];
  const scale = Math.min(box.width / across, box.height / down);
  const left = box.x + (box.width - across * scale) / 2, top = box.y + (box.height - down * scale) / 2;
  for (let offset = 0; offset < width * height; offset++) {
    const point = (turn * 7 + 6 + offset) % (width * height);
    const [column, row] = [point % width, Math.floor(point / width)];
    const [x, y] = [16 + 20 * column + 10, 16 + 20 * row + 10];
    const at = `[cx="${x}"][cy="${y}"]`;
    const stones = page.locator(`#board circle.black${at}, #board circle.white${at}`);
    const banned = page.locator(`#board path.banned[d^="M${x - 3} ${y - 3}l"]`);
    if ((await stones.count()) + (await banned.count()) > 0) continue;
    await page.mouse.click(left + x * scale, top + y * scale);
    return true;
  }
  return false;
}

async function analysisIsShown(page) {
  await page.waitForFunction(() => /Your turn|over/.test(document.getElementById("turn").textContent));
  if ((await page.locator("#turn").textContent()).includes("over")) return;
  await page.locator("#hint").click();
  await page.locator("#candidates").waitFor({ state: "visible", timeout: 60000 });
  check("candidate moves are shown", (await page.locator("#moves tr").count()) > 0);
  check("the win rate is shown", (await page.locator("#figures").textContent()).includes("Black wins"));
  await page.locator("#show-ownership").check();
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(shots, "board-analysis.png") });
  await page.locator("#show-ownership").uncheck();
  await page.locator("#show-moves").uncheck();
}

async function playByKeys(run) {
  const page = await open(`${run}/board`, { scheme: "dark" });
  await page.locator("#visits").fill("8");
  await page.locator("#visits").press("Enter");
  await page.waitForFunction(() => document.getElementById("turn").textContent.includes("Your turn"));
  await page.locator("#board").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /White played/.test(document.getElementById("turn").textContent));
  check("the keyboard plays", (await page.locator("#board circle.black").count()) > 0);
  await page.locator("#show-moves").check();
  await page.locator("#candidates").waitFor({ state: "visible" });
  await page.screenshot({ path: join(shots, "board-dark.png") });
  const url = page.url();
  await page.reload();
  await page.waitForFunction(() => /White played/.test(document.getElementById("turn").textContent));
  check("a reloaded game goes on", page.url() === url);
  await close(page);
}

async function pictures(run, game) {
  const sizes = { laptop: { width: 1366, height: 768 }, phone: { width: 390, height: 844 } };
  const pages = {
    report: run, compare: "/compare", games: `${run}/games`, game: `${game}#turn=12`, board: `${run}/board`,
  };
  for (const [size, extent] of Object.entries(sizes)) for (const scheme of ["light", "dark"])
    for (const [name, path] of Object.entries(pages)) {
      const page = await open(path, { ...extent, scheme });
      await page.waitForTimeout(400);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      check(`${name} fits on a ${size}`, wide <= 0);
      await page.screenshot({ path: join(shots, `${name}-${size}-${scheme}.png`) });
      await close(page);
    }
}

try {
  const run = await firstRun();
  await curvesMove(run);
  await tapsSayValues(run);
  const game = await clickThrough(run);
  await playToTheEnd(run);
  await playByKeys(run);
  await pictures(run, game);
} catch (error) {
  complaints.push(String(error));
}
await browser.close();
for (const complaint of complaints) console.error(`serve_pages: ${complaint}`);
process.exit(complaints.length > 0 ? 1 : 0);
