import type { Benchmark } from '../benchmark.ts'
import { runBareDisk, runBusyDisk } from './disk.ts'

export const disk: Benchmark = {
  name: 'disk',
  summary: 'bytes written to the disk, and life of an SD card',
  rounds: 'without effect',
  scenarios: [
    { name: 'bare', summary: '200 devices at 1 message a second, and nothing else', run: runBareDisk },
    { name: 'everything', summary: 'the same with zones, 20 realtime sockets and a hub', run: runBusyDisk },
  ],
}
