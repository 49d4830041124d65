import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

export type DeviceJson = AnswerOf<'GET /devices/{id}'>
export type GroupJson = AnswerOf<'GET /groups/{groupId}'>

const PAGE = 1000

/** Loads all devices and groups, as an admin. */
export function useRegister() {
  const { api } = useDashboard()
  const devices = async (): Promise<DeviceJson[]> => {
    const all: DeviceJson[] = []
    for (;;) {
      const query = { limit: PAGE, offset: all.length }
      const { devices: page } = await api.call('GET /devices', { query })
      all.push(...page)
      if (page.length < PAGE) return all
    }
  }
  const groups = () => api.call('GET /groups')
  const types = () => api.call('GET /device-types')
  return { devices, groups, types }
}
