import '#dashboard/ui/style.css'
import '@preact/signals'
import { render } from 'preact'
import { Dashboard } from '#dashboard/live/dashboard.ts'
import { DashboardProvider } from '#dashboard/ui/dashboard-context.ts'
import { App } from './app.tsx'

const root = document.getElementById('app')
if (root !== null) {
  const dashboard = new Dashboard()
  dashboard.start()
  render(
    <DashboardProvider value={dashboard}>
      <App />
    </DashboardProvider>,
    root,
  )
}
