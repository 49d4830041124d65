import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { ENTRY } from '#scripts/cli/start-command.ts'

/** Runs `cartbarn repair` on a data folder. */
export function repair(data: string, env: Record<string, string> = {}): SpawnSyncReturns<string> {
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const
  return spawnSync(process.execPath, [ENTRY, 'repair', '--data', data, '--yes'], options)
}
