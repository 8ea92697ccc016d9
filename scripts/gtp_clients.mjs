// Drives a GTP engine with Sabaki's own client; called by scripts/gtp-clients.
//
// node gtp_clients.mjs ENGINE MODEL FOLDER

import assert from 'node:assert/strict'
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import gtp from '@sabaki/gtp'
import Board from '@sabaki/go-board'

const [engine, model, folder] = process.argv.slice(2)
const {Controller, ControllerStateTracker, Command} = gtp

const controller = new Controller(engine, [
  'gtp', '--model', model, '--visits', '40', '--finish', '--size', '5', '--komi', '0.5',
])
const tracker = new ControllerStateTracker(controller)
const complaints = []
controller.on('stderr', ({content}) => complaints.push(content))

/** Sends a command and returns the response's text; an error response fails the run. */
async function say(line, subscriber) {
  const response = await controller.sendCommand(Command.fromString(line), subscriber)
  assert(!response.error, `${line}: ${response.content}`)
  return response.content
}

/** Sends a command that must be refused. */
async function refused(line) {
  const response = await controller.sendCommand(Command.fromString(line))
  assert(response.error, `${line} should have been refused, got: ${response.content}`)
  return response.content
}

/** Reads one line of analysis as Sabaki does: an `info` for each move, then pairs of words, then the variation. */
function readAsSabaki(line, board) {
  return line.split(/\s*info\s+/).slice(1).flatMap((text) => {
    const variation = text.trim().match(/ pv ((?:pass|[A-Za-z]\d+)(?:\s+(?:pass|[A-Za-z]\d+))*)$/)
    if (variation == null) return []
    const words = text.slice(0, variation.index).trim().split(/\s+/)
    assert.equal(words.length % 2, 0, `words in pairs: ${text}`)
    const fields = Object.fromEntries(words.flatMap((word, i) => (i % 2 ? [] : [[word, words[i + 1]]])))
    const moves = variation[1].split(/\s+/)
    assert.equal(moves[0], fields.move, 'a variation begins with its move')
    for (const move of moves.filter((move) => move !== 'pass')) assert(board.has(board.parseVertex(move)), move)
    return [fields]
  })
}

/** Reads one line of analysis as Lizzie does: parts separated by ` info `, each with keys and values until `pv`. */
function readAsLizzie(line) {
  return line.slice(5).split(' info ').filter((piece) => piece.trim() !== '').map((piece) => {
    const words = piece.trim().split(' ')
    const fields = {}
    for (let i = 0; i < words.length; i += 2) {
      if (words[i] === 'pv') break
      fields[words[i]] = words[i + 1]
    }
    return fields
  })
}

/** Runs a live analysis until some reports have arrived, then interrupts it with another command. */
async function analyze(line, reports) {
  const lines = []
  let interrupted = null
  await say(line, ({line, end}) => {
    if (!end && line.startsWith('info ')) lines.push(line)
    if (lines.length >= reports && interrupted == null) interrupted = say('protocol_version')
  })
  assert.equal(await interrupted, '2', 'the interrupting command gets a response')
  return lines
}

/** Strict area score of a board in points, Black minus White. */
function areaMargin(board) {
  let margin = 0
  const seen = new Set()
  for (let y = 0; y < board.height; y++) {
    for (let x = 0; x < board.width; x++) {
      if (board.get([x, y]) !== 0) {
        margin += board.get([x, y])
      } else if (!seen.has(`${x},${y}`)) {
        const region = board.getConnectedComponent([x, y], (v) => board.get(v) === 0)
        region.forEach((v) => seen.add(v.join(',')))
        const reached = new Set(region.flatMap((v) => board.getNeighbors(v)).map((v) => board.get(v)))
        margin += region.length * (reached.has(1) ? (reached.has(-1) ? 0 : 1) : reached.has(-1) ? -1 : 0)
      }
    }
  }
  return margin
}

controller.start()
assert.equal(await say('protocol_version'), '2')
assert.equal(await say('name'), 'Tengen')
const known = (await say('list_commands')).split('\n')
for (const name of ['play', 'genmove', 'undo', 'final_score', 'kata-analyze', 'lz-genmove_analyze', 'loadsgf']) {
  assert(known.includes(name), name)
  assert.equal(await say(`known_command ${name}`), 'true')
}

// A whole game in which the engine plays both colors, followed on the client's own board.
await say('clear_board')
let board = Board.fromDimensions(5, 5)
let [sign, passes, plies] = [1, 0, 0]
while (passes < 2) {
  const color = sign > 0 ? 'b' : 'w'
  const watched = plies % 3 === 2
  let move = null
  const reports = []
  const answer = await say(watched ? `kata-genmove_analyze ${color} 1` : `genmove ${color}`, ({line}) => {
    if (line.startsWith('info ')) reports.push(line)
    if (line.startsWith('play ')) move = line.slice(5)
  })
  move ??= answer
  if (watched) assert(reports.length > 0 && readAsSabaki(reports.at(-1), board).length > 0)
  passes = move === 'pass' ? passes + 1 : 0
  if (move !== 'pass') board = board.makeMove(sign, board.parseVertex(move))
  sign = -sign
  assert(++plies < 500, 'the game ends')
}
const margin = 2 * areaMargin(board) - 1
const score = `${margin > 0 ? 'B' : 'W'}+${Math.abs(margin) / 2}`
assert.equal(await say('final_score'), score, 'the client counts the same')
assert.equal(await say('final_status_list dead'), '', 'all stones on the final board are alive')
const shown = (await say('showboard')).match(/[XO.]/g)
assert.equal(shown.filter((c) => c === 'X').length, board.signMap.flat().filter((s) => s > 0).length)
for (let i = 0; i < 3; i++) await say('undo')

// Live analysis in every format, read the way Sabaki and Lizzie read it.
await tracker.sync({komi: 3.5, boardsize: [7, 7], history: [{name: 'play', args: ['B', 'D4']}]})
board = Board.fromDimensions(7, 7)
const kata = await analyze('kata-analyze w 10 ownership true rootInfo true', 3)
const ownership = kata.at(-1).split('ownership ')[1].trim().split(' ').map(Number)
assert.equal(ownership.length, 49)
assert(ownership.every((value) => value >= -1 && value <= 1))
let visits = 0
for (const line of kata) {
  const total = +line.match(/rootInfo visits (\d+)/)[1]
  assert(total > visits, `visits grow: ${visits}, ${total}`)
  visits = total
  for (const fields of readAsLizzie(line)) {
    assert(+fields.winrate >= 0 && +fields.winrate <= 1 && Number.isFinite(+fields.scoreMean), JSON.stringify(fields))
  }
}
for (const command of ['lz-analyze w 10', 'analyze w 10']) {
  for (const line of await analyze(command, 2)) {
    const seen = readAsSabaki(line, board)
    assert.equal(seen.length, readAsLizzie(line).length)
    for (const fields of seen) {
      for (const key of ['winrate', 'prior', 'lcb']) assert(/^\d+$/.test(fields[key]) && +fields[key] <= 10000, key)
    }
    assert.deepEqual(seen.map((fields) => +fields.order), seen.map((_, i) => i))
  }
}
const kept = await analyze('kata-analyze w 10 allow w A1,G7 1', 1)
assert(readAsSabaki(kept[0], board).every(({move}) => ['A1', 'G7'].includes(move)))

// Clocks, handicap, rectangular boards, files, and errors.
await say('time_settings 1 0 0')
assert.match(await say('reg_genmove w'), /^(pass|[A-G][1-7])$/)
await say('rectangular_boardsize 9 5')
await say('clear_board')
assert.equal((await say('place_free_handicap 2')).split(' ').length, 2)
assert.match(await refused('boardsize 42'), /unacceptable size/)
assert.match(await refused('frobnicate'), /unknown command/)
const file = join(folder, 'game.sgf')
writeFileSync(file, '(;GM[1]FF[4]SZ[5]KM[2.5];B[cc];W[bb];B[dd])')
await say(`loadsgf ${file} 3`)
assert.equal(await say('final_score'), 'W+2.5')
await tracker.sync({komi: 0.5, boardsize: [5, 5], history: [{name: 'set_free_handicap', args: ['B2', 'D4']}]})

let exitCode = null
controller.process.on('exit', (code) => (exitCode = code))
await controller.stop()
assert.equal(exitCode, 0, 'quit ends the engine')
// With a network, the engine says what it runs on and under which rules it was trained, and warns once for each board
// that it was not trained on; the script plays on several.
const expected = /^(device |playing as the model |warning: the model .* was trained on .* but plays on .* here$)/
assert.deepEqual(complaints.filter((line) => !expected.test(line)), [], 'nothing else is written to stderr')
console.log(
  `gtp-clients: a game of ${plies} plies (${score}), ${visits} visits in 3 reports; clients can read all responses`,
)
