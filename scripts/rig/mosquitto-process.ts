import { existsSync, globSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { freePort } from '#shared/testing/free-port.ts'
import type { BenchProcess, Workbench } from './processes.ts'
import { mustReach } from './wait-until.ts'

const PROGRAMS = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/usr/bin/mosquitto']
const START_LIMIT_MS = 5000

export interface MosquittoProcess {
  process: BenchProcess
  port: number
}

export function findMosquitto(): string | undefined {
  return PROGRAMS.find((path) => existsSync(path))
}

/** Settings of persistence: as Debian has them, and as strict as the file of Mosquitto 2.0 can be. */
export const PERSISTENCE = {
  debian: ['persistence true', 'autosave_interval 1800'],
  strict: ['persistence true', 'autosave_on_changes true', 'autosave_interval 1'],
} as const
const SQLITE_PLUGINS = '/usr/{lib,local/lib,lib/*-linux-gnu}/**/mosquitto_persist_sqlite.so'

/** Settings of the persistence of Mosquitto 2.1 in SQLite, synced at each change; undefined without its plugin. */
export function sqlitePersistence(): readonly string[] | undefined {
  const [plugin] = globSync(SQLITE_PLUGINS)
  return plugin === undefined ? undefined : [`plugin ${plugin}`, 'plugin_opt_sync full', 'plugin_opt_flush_period 0']
}

/** Starts a Mosquitto without limits, with its state in `folder`. Resolves when it listens. */
export async function startMosquitto(
  bench: Workbench,
  program: string,
  folder: string,
  persistence: readonly string[] = PERSISTENCE.debian,
): Promise<MosquittoProcess> {
  const port = await freePort()
  const settings = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    `persistence_location ${folder}/`,
    ...persistence,
    'max_inflight_messages 0',
    'max_queued_messages 0',
    'log_dest none',
    // Started by root it would switch to a user that may not write the folder.
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  const settingsFile = join(folder, 'mosquitto.conf')
  writeFileSync(settingsFile, `${settings.join('\n')}\n`)
  const started = bench.spawn('mosquitto', program, ['-c', settingsFile])
  await mustReach(() => accepts(port), START_LIMIT_MS, `mosquitto does not listen on ${port}`)
  return { process: started, port }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
