import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CpuProfile, shareOf } from './cpu-profile.ts'

const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
})

const PROFILE: CpuProfile = {
  nodes: [
    node(1, '(root)', '', [2, 5, 6]),
    node(2, 'ingest', 'file:///g/services/ingest/run.ts', [3]),
    node(3, 'take', 'file:///g/services/carts/carts.ts', [4]),
    node(4, 'parse', 'file:///g/shared/text.ts'),
    node(5, 'parse', 'file:///g/shared/text.ts'),
    node(6, '(idle)', ''),
  ],
  startTime: 1_000_000,
  samples: [2, 3, 4, 5, 3, 6],
  timeDeltas: [100, 100, 100, 100, 100, 900],
}
const CARTS = /\/carts\//

test('a share is that of functions of a file and of all that they call, without idle time', () => {
  assert.equal(shareOf(PROFILE, CARTS, 0, 2_000_000), 3 / 5)
})

test('only the time that is asked for counts', () => {
  assert.equal(shareOf(PROFILE, CARTS, 1_000_250, 1_000_450), 1 / 2)
})

test('whatever was on top when the thread had to wait took no longer than between two samples', () => {
  const timeDeltas = [100, 100_000, 100, 100, 100, 900]
  assert.equal(shareOf({ ...PROFILE, timeDeltas }, CARTS, 0, 2_000_000), 1200 / 1400)
})
