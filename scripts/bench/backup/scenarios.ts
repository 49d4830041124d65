import type { Benchmark } from '../benchmark.ts'
import { runBackup } from './backup.ts'

export const backup: Benchmark = {
  name: 'backup',
  summary: 'a backup while devices publish: PUBACK, and its restore',
  rounds: 'backups',
  scenarios: [
    {
      name: 'first',
      summary: 'a first backup of a year of 200 carts while they publish; restored and compared',
      run: runBackup,
    },
  ],
}
