import type { BenchDevice } from '../gateway-api.ts'
import type { GatewayProcess } from '../gateway-process.ts'
import type { Workbench } from '../processes.ts'
import { LoadProcess } from './process.ts'

/** Devices that send at an even pace; without `durationS` until they are told to stop. */
export function startDeviceLoad(
  bench: Workbench,
  gateway: GatewayProcess,
  clients: BenchDevice[],
  options: { perDevicePerS: number; warmupS: number; durationS: number | null },
): LoadProcess {
  return new LoadProcess(bench, {
    host: '127.0.0.1',
    port: gateway.ports.mqtt,
    qos: 1,
    session: 'device',
    mode: { kind: 'paced', perClientPerS: options.perDevicePerS },
    warmupS: options.warmupS,
    durationS: options.durationS,
    notBeforeMs: 0,
    journalFile: null,
    clients,
  })
}
