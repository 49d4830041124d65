import type { OpenAPIHono } from '@hono/zod-openapi'
import { answers } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { CHECKLIST_STEPS, type ChecklistStep, checklistSchema } from '#shared/wire/machine/checklist.ts'
import { type ApiEnv, createApi, staffOnly } from '../api-env.ts'
import type { AlertsDeps, CourseDeps, DevicesDeps, MachineDeps, NetworkDeps, PeopleDeps, ZonesDeps } from '../deps.ts'

type ChecklistDeps = PeopleDeps & DevicesDeps & ZonesDeps & CourseDeps & AlertsDeps & MachineDeps & NetworkDeps

/** `/checklist`: what a new course still lacks, read from the gateway at each request. */
export function createChecklistApi(deps: ChecklistDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  api.openapi(
    route.get('/checklist', 'Get the remaining steps of the set-up', {
      description: 'Steps of setting up a course, each with its present state. For staff and admins.',
      middleware: [staffOnly],
      responses: answers(checklistSchema, 'All steps, in the order of the app.', 403),
    }),
    (c) => {
      const states = statesOf(deps, c.var.user.session?.row.sessionId)
      const steps = CHECKLIST_STEPS.map((step) => {
        const state = states[step]
        return typeof state === 'number' ? { step, done: state > 0, count: state } : { step, done: state, count: null }
      })
      return c.json({ hidden: deps.site.settings.isChecklistHidden, steps }, 200)
    },
  )
  return api
}

/** Returns the number of what there is for each step, or true if it is done. */
function statesOf(deps: ChecklistDeps, ownSessionId: string | undefined): Record<ChecklistStep, number | boolean> {
  const { fleet, zones, course, site, users, sessions, notifiers, webhooks, backups, certificate } = deps
  const { openingHours, autoLockAfterMin, lockAtClosing } = site.settings
  const { status } = backups
  const siteZones = zones.current.zones
  const barns = siteZones.filter(({ type }) => type === 'parking').length
  return {
    devices: fleet.size,
    barn: barns > 0,
    course_map: Object.values(course.current.counts).some((count) => count > 0),
    zones: siteZones.length - barns,
    opening_hours: openingHours !== null,
    lock_rules: autoLockAfterMin > 0 || lockAtClosing,
    pins: users.all().filter(({ isActive, pinHash }) => isActive && pinHash !== null).length,
    tablets: sessions.all().filter(({ row }) => row.sessionId !== ownSessionId).length,
    notifications: notifiers.all().length + webhooks.all().length,
    backup: status !== null && status.lastGoodMs !== null && !status.isOverdue,
    encryption: certificate !== undefined,
  }
}
