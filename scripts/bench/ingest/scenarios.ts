import type { Benchmark } from '../benchmark.ts'
import { runKill } from './kill.ts'
import { runMemory } from './memory.ts'
import { runPeers } from './peers/peers.ts'
import { runSaturation } from './saturation.ts'
import { runSteady } from './steady.ts'

export const ingest: Benchmark = {
  name: 'ingest',
  summary: 'from the device to the disk: latency, throughput, loss, memory',
  rounds: 'rounds of saturation, number of kills',
  scenarios: [
    { name: 'steady', summary: '200 devices at 1 message a second, 20 realtime sockets', run: runSteady },
    {
      name: 'saturation',
      summary: 'at full speed: 50 and 500 clients, compared with Mosquitto, with 10 ms fsyncs',
      run: runSaturation,
    },
    {
      name: 'peers',
      summary: 'compared with Mosquitto alone, with a subscriber and SQLite, and with PostgreSQL',
      run: runPeers,
    },
    { name: 'kill', summary: 'kill -9 at random moments; every acknowledged sample must be there, once', run: runKill },
    {
      name: 'memory',
      summary: '1,000 connected devices with will and subscriptions, a message every 10 s',
      run: runMemory,
    },
  ],
}
