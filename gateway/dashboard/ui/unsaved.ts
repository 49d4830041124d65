import { useEffect } from 'preact/hooks'
import { useDashboard } from './dashboard-context.ts'

/** Asks before this page is left, as long as it shows something that nobody can show again; null for nothing. */
export function useUnsaved(question: string | null): void {
  const { router } = useDashboard()
  useEffect(() => (question === null ? undefined : router.hold(question)), [router, question])
}
