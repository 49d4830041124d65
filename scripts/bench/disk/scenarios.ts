import type { Benchmark } from '../benchmark.ts'
import { bare, everything } from './disk.ts'

export const disk: Benchmark = {
  name: 'disk',
  summary: 'bytes written to the disk, and life of an SD card',
  rounds: 'without effect',
  scenarios: [bare, everything],
}
