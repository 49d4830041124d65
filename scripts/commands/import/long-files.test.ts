import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { ENTRY } from '#scripts/cli/start-command.ts'
import { toIso } from '#shared/time.ts'

const POINTS = 200_000
const POINTS_A_PIECE = 1000
/** Hardly more than the program itself needs, and less than the points would. */
const HEAP_MB = 24
const FROM_MS = Date.UTC(2026, 0, 1)

const FORMS = {
  gpx: {
    head: '<gpx><trk><trkseg>',
    point: (time: string, i: number) => `<trkpt lat="1.${i}" lon="2.${i}"><time>${time}</time></trkpt>\n`,
    foot: '</trkseg></trk></gpx>',
  },
  geojson: {
    head: '{"type":"FeatureCollection","features":[',
    point: (time: string, i: number) =>
      `${i === 0 ? '' : ','}{"type":"Feature","geometry":{"type":"Point","coordinates":[2.${i},1.${i}]},"properties":{"time":"${time}"}}`,
    foot: ']}',
  },
}

for (const [format, { head, point, foot }] of Object.entries(FORMS)) {
  test(`${POINTS} points of ${format} need no more memory than a few`, async () => {
    const argv = [
      `--max-old-space-size=${HEAP_MB}`,
      ENTRY,
      'import',
      '--dry-run',
      '--device',
      'x',
      '--format',
      format,
      '-',
    ]
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'ignore'] })
    const exited = once(child, 'exit')
    const pieces = function* () {
      yield head
      for (let at = 0; at < POINTS; at += POINTS_A_PIECE) {
        yield Array.from({ length: POINTS_A_PIECE }, (_, i) => point(toIso(FROM_MS + (at + i) * 1000), at + i)).join('')
      }
      yield foot
    }
    Readable.from(pieces()).pipe(child.stdin)
    const [output, [code]] = await Promise.all([text(child.stdout), exited])
    assert.equal(code, 0)
    assert.match(output, /usable {9}200,000/)
  })
}
