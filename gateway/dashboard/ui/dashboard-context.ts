import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Dashboard } from '#dashboard/live/dashboard.ts'

const context = createContext<Dashboard | null>(null)

export const DashboardProvider = context.Provider

/** Returns the dashboard of the page. Throws an `Error` outside its provider. */
export function useDashboard(): Dashboard {
  const dashboard = useContext(context)
  if (dashboard === null) throw new Error('no dashboard above this component')
  return dashboard
}
