import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { atMost, median, printTable, type ScenarioReport, withoutTarget } from '#scripts/rig/report.ts'
import type { ScenarioContext } from '#scripts/rig/scenario.ts'
import { DashboardEnvironment } from './environment.ts'

const TARGETS = { kilobytes: 180, buildS: 3 }
const ROUNDS = 5
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

interface LoadedFile {
  path: string
  bytes: number
  gzipBytes: number
}

/** Measures what a new tablet loads until it shows the map, and how long a start takes to build the app. */
export async function runFirstLoad(context: ScenarioContext): Promise<ScenarioReport> {
  const rounds = context.rounds ?? (context.isShort ? 1 : ROUNDS)
  const environment = await DashboardEnvironment.lay(context)
  const files = await loadAll(environment)
  await environment.clear()
  const total = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0)
  printTable(
    'First load',
    ['', 'bytes', 'gzip'],
    files.map(({ path, bytes, gzipBytes }) => [path, String(bytes), String(gzipBytes)]),
  )
  const builds = Array.from({ length: rounds }, () => buildS(context.bench.createFolder('build')))
  const options = { unit: ' KB', digits: 1, detail: `${files.length} files` }
  return {
    figures: [
      atMost('dashboard: first load, gzip', total / 1000, TARGETS.kilobytes, options),
      atMost('dashboard: build', median(builds), TARGETS.buildS, {
        unit: ' s',
        digits: 2,
        isJudged: !context.isShort,
      }),
      withoutTarget('dashboard: build, longest', `${Math.max(...builds).toFixed(2)} s`),
    ],
    raw: { files, builds },
  }
}

async function loadAll(environment: DashboardEnvironment): Promise<LoadedFile[]> {
  const opened = await environment.openPage()
  const loading: Promise<LoadedFile>[] = []
  opened.page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (!pathname.startsWith('/app/')) return
    loading.push(
      response.body().then((body) => ({ path: pathname, bytes: body.length, gzipBytes: gzipLength(pathname, body) })),
    )
  })
  await environment.show(opened, 'Map')
  await opened.page.waitForLoadState('networkidle')
  await opened.context.close()
  // a file named in two places is requested twice; the second response comes from the cache
  return [...new Map((await Promise.all(loading)).map((file) => [file.path, file])).values()]
}

/** Length of a file after gzip; fonts are compressed already and keep theirs. */
function gzipLength(path: string, body: Buffer): number {
  return path.endsWith('.woff2') ? body.length : gzipSync(body, { level: 9 }).length
}

/** Seconds of a build from scratch, its process included. */
function buildS(folder: string): number {
  const startedMs = performance.now()
  const args = ['scripts/release/build-dashboard.ts', folder, 'bench']
  const env = { ...process.env, NODE_ENV: 'production' }
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env })
  if (status !== 0) throw new Error(`the app was not built: ${stderr}`)
  return (performance.now() - startedMs) / 1000
}
