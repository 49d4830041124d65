import type { Benchmark } from '../benchmark.ts'
import { first } from './backup.ts'

export const backup: Benchmark = {
  name: 'backup',
  summary: 'a backup while devices publish: PUBACK, and its restore',
  rounds: 'backups',
  scenarios: [first],
}
