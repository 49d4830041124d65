// Loaded first by npm run dev. Node's --watch has every thread report what it imports, as messages that our threads would
// take for their own; with --watch-path nobody needs these reports.
delete process.env.WATCH_REPORT_DEPENDENCIES
