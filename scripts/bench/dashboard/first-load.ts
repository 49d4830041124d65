import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { measurement } from '#scripts/rig/scenario.ts'
import { openDashboard, show } from './environment.ts'
import { secondsOf } from './probes.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Measures what a new tablet loads until it shows the map, and how long a start takes to build the app. */
export const firstLoad = measurement({
  name: 'first-load',
  summary: 'bytes until the map is shown, seconds of a build',
  rounds: 5,
  figures: {
    kilobytes: { what: 'first load, gzip', unit: ' KB', target: ['<=', 180], inShort: true, digits: 1 },
    files: { what: 'files in the first load' },
    build: { what: 'build from scratch, its process included', unit: ' s', target: ['<=', 3], digits: 2 },
  },
  async run(context) {
    const dashboard = await openDashboard(context)
    const { page } = await dashboard.openPage()
    const loading: Promise<[path: string, bytes: number]>[] = []
    page.on('response', (response) => {
      const path = new URL(response.url()).pathname
      if (path.startsWith('/app/')) loading.push(response.body().then((body) => [path, gzipLength(path, body)]))
    })
    await page.goto(dashboard.appUrl)
    await show(page, 'Map')
    await page.waitForLoadState('networkidle')
    // a file named in two places is requested twice; the second response comes from the cache
    const files = new Map(await Promise.all(loading))
    await dashboard.clear()
    const build: number[] = []
    for (let round = 0; round < context.rounds; round++) {
      const folder = context.bench.createFolder('build')
      build.push(await secondsOf(async () => buildInto(folder)))
    }
    const bytes = [...files.values()].reduce((sum, each) => sum + each, 0)
    return { kilobytes: bytes / 1000, files: files.size, build }
  },
})

/** Length of a file after gzip; fonts are compressed already and keep theirs. */
function gzipLength(path: string, body: Buffer): number {
  return path.endsWith('.woff2') ? body.length : gzipSync(body, { level: 9 }).length
}

function buildInto(folder: string): void {
  const args = ['scripts/release/build-dashboard.ts', folder, 'bench']
  const env = { ...process.env, NODE_ENV: 'production' }
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env })
  if (status !== 0) throw new Error(`the app was not built: ${stderr}`)
}
