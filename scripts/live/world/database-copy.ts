import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Copies the database of a data folder and its log, whatever runs: nothing writes meanwhile. */
export function copyDatabase(dataDir: string, to: string): void {
  for (const end of ['', '-wal']) {
    const from = join(dataDir, `cartbarn.db${end}`)
    for (const old of ['', '-shm']) rmSync(`${to}${end}${old}`, { force: true })
    if (existsSync(from)) copyFileSync(from, `${to}${end}`)
  }
}
