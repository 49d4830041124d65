import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type AnimationFrames, Playback } from './playback.ts'

/** Frames that a test advances manually. */
class Hand implements AnimationFrames {
  #next: { id: number; frame: (nowMs: number) => void } | null = null
  #nowMs = 1_000
  #count = 0

  request(frame: (nowMs: number) => void): number {
    this.#next = { id: ++this.#count, frame }
    return this.#count
  }

  cancel(id: number): void {
    if (this.#next?.id === id) this.#next = null
  }

  turn(ms: number): void {
    this.#nowMs += ms
    const next = this.#next
    this.#next = null
    next?.frame(this.#nowMs)
  }

  get isAsked(): boolean {
    return this.#next !== null
  }
}

const SPAN = { fromMs: 10_000, toMs: 70_000 }
let hand: Hand
let playback: Playback

beforeEach(() => {
  hand = new Hand()
  playback = new Playback(hand)
  playback.open(SPAN, 20_000)
  playback.speed = 10
})

test('playback runs the chosen number of times faster than real time', () => {
  playback.play()
  hand.turn(16)
  assert.equal(playback.atMs.value, 20_000, 'the first frame begins')
  hand.turn(100)
  assert.equal(playback.atMs.value, 21_000)
  playback.speed = 120
  hand.turn(100)
  assert.equal(playback.atMs.value, 33_000)
  playback.pause()
  hand.turn(100)
  assert.equal(playback.atMs.value, 33_000)
  assert.equal(hand.isAsked, false)
})

test('playback stops at the end, and starting it there begins again', () => {
  playback.seek(69_999)
  playback.play()
  hand.turn(16)
  hand.turn(16)
  assert.deepEqual([playback.atMs.value, playback.isPlaying.value, hand.isAsked], [70_000, false, false])
  playback.play()
  assert.equal(playback.atMs.value, 10_000)
})

test('playback does not jump over the time for which the page was hidden', () => {
  playback.play()
  hand.turn(16)
  hand.turn(60_000)
  assert.equal(playback.atMs.value, 25_000)
})

test('dragging moves the time within its span only', () => {
  playback.seek(0)
  assert.equal(playback.atMs.value, 10_000)
  playback.seek(1e9)
  assert.equal(playback.atMs.value, 70_000)
  playback.stretch({ fromMs: 10_000, toMs: 50_000 })
  assert.equal(playback.atMs.value, 50_000)
})

test('playback stands still while data is loading', () => {
  playback.play()
  hand.turn(16)
  playback.hold(true)
  hand.turn(100)
  assert.deepEqual([playback.atMs.value, playback.isPlaying.value], [20_000, true])
  playback.hold(false)
  hand.turn(100)
  assert.equal(playback.atMs.value, 21_000)
})

test('a follower is notified of the current time immediately, and then of each change', () => {
  const shown: number[] = []
  const end = playback.follow((atMs) => shown.push(atMs))
  playback.seek(30_000)
  end()
  playback.seek(40_000)
  assert.deepEqual(shown, [20_000, 30_000])
})
