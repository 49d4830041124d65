import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { mock, test } from 'node:test'
import { minutes, Progress } from './progress.ts'

function progressOn(t: { after(work: () => void): void }, isTTY: boolean) {
  let nowMs = 0
  const time = mock.method(performance, 'now', () => nowMs)
  t.after(() => time.mock.restore())
  const screen = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  return {
    progress: new Progress(screen, false),
    shown: (): string => screen.read() ?? '',
    passMs: (ms: number) => {
      nowMs += ms
    },
  }
}

test('on a terminal the bar shows the percentage, the completed work and the remaining time', (t) => {
  const { progress, shown, passMs } = progressOn(t, true)
  passMs(60_000)
  progress.show(0.5, '50/100 cart days')
  assert.equal(shown(), '\r\x1b[K████████████░░░░░░░░░░░░  50 % 50/100 cart days, 1:00 left')
})

test('without progress no remaining time is estimated', (t) => {
  const { progress, shown, passMs } = progressOn(t, true)
  passMs(1)
  progress.show(0, '0 samples')
  assert.match(shown(), / {3}0 % 0 samples$/)
})

test('without a terminal progress is an occasional line, and short work prints no line', (t) => {
  const { progress, shown, passMs } = progressOn(t, false)
  progress.show(0.1, 'a')
  passMs(4_999)
  progress.show(0.2, 'b')
  assert.equal(shown(), '')
  passMs(1)
  progress.show(null, 'c')
  passMs(1)
  progress.show(null, 'd')
  assert.equal(shown(), 'c\n')
})

test('a duration is shown in minutes and seconds', () => {
  assert.deepEqual([minutes(0), minutes(59.9), minutes(125)], ['0:00', '0:59', '2:05'])
})
