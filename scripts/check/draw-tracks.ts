// node scripts/run.mjs scripts/check/draw-tracks.ts: draws where the carts were, as an SVG on standard output.
import { parseArgs } from 'node:util'
import { ApiClient } from '#shared/client.ts'

const WIDTH_PX = 960
const MARGIN_PX = 24
const LIVE_RADIUS_PX = 5
const METRES_PER_DEGREE = 111_195
/** Further apart than a cart gets between two fixes: not a line, a jump. */
const JUMP_M = 120

interface Point {
  lat: number
  long: number
}

interface Track {
  points: Point[]
  now: Point | undefined
}

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    minutes: { type: 'string', default: '60' },
    type: { type: 'string', default: 'teebox' },
  },
})

const client = new ApiClient({ url: values.url, apiKey: process.env.CARTBARN_ADMIN_API_KEY })

async function readTracks(): Promise<Track[]> {
  const to = new Date()
  const from = new Date(to.getTime() - Number(values.minutes) * 60_000)
  const query = { from: from.toISOString(), to: to.toISOString(), order: 'asc' } as const
  const { devices } = await client.call('GET /devices', { query: { limit: 1000, device_type: values.type } })
  return Promise.all(
    devices.map(async ({ hardware_id, attributes: { lat, long } }) => ({
      points: await client.call('GET /devices/{id}/gps', { path: { id: hardware_id }, query }),
      now: typeof lat === 'number' && typeof long === 'number' ? { lat, long } : undefined,
    })),
  )
}

/** Flat enough for a golf course: equirectangular around the middle. */
function draw(tracks: readonly Track[]): string {
  const all = tracks.flatMap(({ points, now }) => (now === undefined ? points : [...points, now]))
  const north = Math.max(...all.map(({ lat }) => lat))
  const south = Math.min(...all.map(({ lat }) => lat))
  const west = Math.min(...all.map(({ long }) => long))
  const east = Math.max(...all.map(({ long }) => long))
  const shrink = Math.cos((((north + south) / 2) * Math.PI) / 180)
  const scale = (WIDTH_PX - 2 * MARGIN_PX) / ((east - west) * shrink)
  const height = Math.ceil((north - south) * scale + 2 * MARGIN_PX)
  const x = ({ long }: Point) => (MARGIN_PX + (long - west) * shrink * scale).toFixed(1)
  const y = ({ lat }: Point) => (MARGIN_PX + (north - lat) * scale).toFixed(1)
  const barM = 200
  const barPx = (barM / METRES_PER_DEGREE) * scale
  const lines = tracks.flatMap(({ points, now }, i) => {
    const colour = `hsl(${Math.round((i * 360) / tracks.length)} 70% 42%)`
    const paths = withoutJumps(points).map((part) => part.map((point) => `${x(point)},${y(point)}`).join(' '))
    const dot =
      now === undefined
        ? []
        : [`<circle cx="${x(now)}" cy="${y(now)}" r="${LIVE_RADIUS_PX}" fill="${colour}"/>`]
    return [...paths.map((path) => `<polyline points="${path}" stroke="${colour}"/>`), ...dot]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH_PX} ${height}" font-family="sans-serif">`,
    `<rect width="${WIDTH_PX}" height="${height}" fill="#eef4e8"/>`,
    '<g fill="none" stroke-width="1.2" stroke-opacity="0.55" stroke-linejoin="round">',
    ...lines,
    '</g>',
    `<path d="M${MARGIN_PX} ${height - 12}h${barPx.toFixed(1)}" stroke="#333" stroke-width="2"/>`,
    `<text x="${MARGIN_PX}" y="${height - 18}" font-size="12" fill="#333">${barM} m</text>`,
    '</svg>',
    '',
  ].join('\n')
}

function withoutJumps(points: readonly Point[]): Point[][] {
  const parts: Point[][] = []
  let last: Point | undefined
  for (const point of points) {
    const part = parts.at(-1)
    if (part !== undefined && last !== undefined && distanceM(last, point) < JUMP_M) part.push(point)
    else parts.push([point])
    last = point
  }
  return parts
}

function distanceM(a: Point, b: Point): number {
  const shrink = Math.cos((a.lat * Math.PI) / 180)
  return METRES_PER_DEGREE * Math.hypot(a.lat - b.lat, (a.long - b.long) * shrink)
}

process.stdout.write(draw(await readTracks()))
