import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { type Sending, useSending } from '#dashboard/ui/sending.ts'
import type { AlertJson } from '#shared/wire/alerts.ts'

type Action = 'acknowledge' | 'close'

/** Acknowledges or closes alerts, optionally with a note. */
export function useAlertActions(): Sending & {
  /** `done` is called only if it succeeds. */
  act: (action: Action, alerts: readonly AlertJson[], note?: string, done?: () => void) => Promise<void>
} {
  const { api, gate } = useDashboard()
  const sending = useSending()
  const act = (action: Action, alerts: readonly AlertJson[], note = '', done?: () => void) =>
    sending.send(async () => {
      const body = { note: note.trim() === '' ? null : note.trim() }
      for (const { alert_id: id } of alerts)
        await gate.act(() => api.call(`POST /alerts/{id}/${action}`, { path: { id }, body }))
      done?.()
    })
  return { ...sending, act }
}
