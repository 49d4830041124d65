import type { Benchmark } from '../benchmark.ts'
import { active } from './active.ts'
import { blocks as blockCodec } from './blocks.ts'
import { neighbours } from './neighbours.ts'
import { sealing } from './sealing.ts'
import { size } from './size.ts'
import { tripsFleet } from './trips-fleet.ts'
import { tripsOne } from './trips-one.ts'

export const history: Benchmark = {
  name: 'history',
  summary: 'long histories: bytes on the disk, trips, sealing',
  rounds: 'runs of each measurement',
  scenarios: [size, tripsOne, tripsFleet, active, neighbours, sealing],
}

export const blocks: Benchmark = {
  name: 'blocks',
  summary: 'telemetry blocks: bytes, encoding, decoding',
  rounds: 'rounds of every measurement',
  scenarios: [blockCodec],
}
