import { useEffect } from 'preact/hooks'
import { useDashboard } from './dashboard-context.ts'

/** Shows the question before the user leaves a page with data that cannot be shown again; null for none. */
export function useUnsaved(question: string | null): void {
  const { router } = useDashboard()
  useEffect(() => (question === null ? undefined : router.hold(question)), [router, question])
}
