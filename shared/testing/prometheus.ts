import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

export const hasPrometheus = ['prometheus', 'promtool'].every(
  (program) => spawnSync(program, ['--version']).error === undefined,
)

/** Scrape configuration from the comment at the top of a file of alert rules. */
function scrapeConfigIn(rulesFile: string): string {
  const comment = readFileSync(rulesFile, 'utf8').split('groups:', 1)[0] ?? ''
  const lines = comment.split('\n').map((line) => line.replace(/^#( {3})?/, ''))
  return lines.slice(lines.findIndex((line) => line.trim() === 'scrape_configs:')).join('\n')
}

/** Returns promtool's complaints about the scrape configuration that `rulesFile` documents; '' for none. */
export function checkScrapeConfig(rulesFile: string): string {
  const folder = writeConfig(rulesFile, 'localhost:80', 'key')
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', configIn(folder)], {
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })
  return status === 0 ? '' : stdout + stderr
}

/**
 * Scrapes `target` (HOST:PORT) once with the installed Prometheus, configured as `rulesFile` documents, with this key.
 * Returns '' on success, else the error of Prometheus.
 */
export async function scrapeAsDocumented(rulesFile: string, target: string, key: string): Promise<string> {
  const folder = writeConfig(rulesFile, target, key)
  const address = `127.0.0.1:${await freePort()}`
  const options = [
    `--config.file=${configIn(folder)}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]
  const prometheus = spawn('prometheus', options, { stdio: 'ignore' })
  const ended = once(prometheus, 'exit')
  try {
    let error: string | undefined
    await eventually(async () => {
      error = await errorOfScrape(`http://${address}/api/v1/targets`)
      return error !== undefined
    }, 'a scrape')
    return error ?? ''
  } finally {
    prometheus.kill()
    await ended
    rmSync(folder, { recursive: true })
  }
}

function writeConfig(rulesFile: string, target: string, key: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartbarn-prometheus-'))
  const keyFile = join(folder, 'key')
  writeFileSync(keyFile, key)
  const documented = scrapeConfigIn(rulesFile)
    .replace(/\/etc\/prometheus\/[\w-]+/, keyFile)
    .replace(/'[\w.]+\.example:\d+'/, `'${target}'`)
  writeFileSync(configIn(folder), `global: { scrape_interval: 1s, scrape_timeout: 1s }\n${documented}`)
  return folder
}

function configIn(folder: string): string {
  return join(folder, 'prometheus.yml')
}

const targetsSchema = z.object({
  data: z.object({ activeTargets: z.array(z.object({ health: z.string(), lastError: z.string() })) }),
})

/** Undefined before the first scrape. */
async function errorOfScrape(url: string): Promise<string | undefined> {
  const answer = await fetch(url).catch(() => undefined)
  if (!answer?.ok) return undefined
  const [target] = targetsSchema.parse(await answer.json()).data.activeTargets
  return target === undefined || target.health === 'unknown' ? undefined : target.lastError
}
